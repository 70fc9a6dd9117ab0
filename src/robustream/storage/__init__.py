"""Plain data in one file or one message: safetensors with JSON, checksummed, no pickle."""
