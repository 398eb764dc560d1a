"""HTML pages: the report of one detection and the page of one benchmark."""
