"""What shows that the simulator keeps every rule, and that nothing a program does breaks it."""
