"""Look at suspects in the browser, record verdicts, and have the ranking learn from them."""
