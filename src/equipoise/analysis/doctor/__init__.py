"""What `equipoise doctor` looks at: libraries, extras, compiled kernels, the machine."""
