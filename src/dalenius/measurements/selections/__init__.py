"""What selections of one cell among many share; the selections themselves are files of the package above."""
