"""How fast things are; ``python -m benchmarks``. No part of the installed package."""
