"""The claims panel: the ledger as a table, its words, its figure."""
