"""Labels of people: pages and sheets to label with, and what comes back."""
