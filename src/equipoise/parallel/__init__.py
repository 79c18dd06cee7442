"""Independent tasks on any executor: worker processes of this machine, or a Dask cluster."""
