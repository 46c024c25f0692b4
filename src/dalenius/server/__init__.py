"""The table server: a table builder with a guarantee, in the browser and over HTTP."""
