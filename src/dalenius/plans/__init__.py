"""What plans of several methods share: prices and shares of a budget, moments, the noise that rules ask for."""
