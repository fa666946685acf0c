"""What an exercise is: one object with its checks, and what can be said in general about a wrong value."""
