"""Systems of federations, which rate all games of a month or of an event together."""
