"""Delivery of events to webhooks: the outbox, and the HTTP to receivers outside."""
