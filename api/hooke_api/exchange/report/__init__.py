"""An experiment as one HTML file that opens without a network and prints well."""
