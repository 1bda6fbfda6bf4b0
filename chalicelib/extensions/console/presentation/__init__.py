"""How every page shows records: templates, texts, times, numbers, fields, lists and differences."""
