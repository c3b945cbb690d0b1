"""The forms of requests and responses: bodies, ``Accept``, tables, discovery."""
