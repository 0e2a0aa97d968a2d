"""Counter maps: what the metrics of an exporter and the columns of a table mean, written in YAML.

A map says which label or column names the host, device, port and queue, and which metric is which counter of the
profile ``counters``. The built-in maps are ``knowledge/builtin/counter_maps``, those of a site ``PACK/counter_maps``.
"""
