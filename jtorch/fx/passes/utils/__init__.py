"""What transformations share."""
