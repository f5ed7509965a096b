"""The bundled demo government site: generated, served on loopback, with a manifest that says what a crawl must find.

It shares no code with the product, so that its manifest is an independent judge of the product. All names are invented.
"""
