"""Text logs: lines, time stamps, envelopes, signatures, blocks."""
