"""What hopsight asks of the machine: threads, memory, compiled code, versions, files written as a whole."""
