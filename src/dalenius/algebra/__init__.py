"""The algebra of tables: margins, residuals, shares, least squares and joint laws."""
