"""The run folder of one detection, its HTML page, and the page of one benchmark."""
