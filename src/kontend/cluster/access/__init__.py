"""Authorization: the permissions of users, and tokens of service accounts."""
