"""Places where work runs: processes of this machine, Ray, Dask. The last two are extras."""
