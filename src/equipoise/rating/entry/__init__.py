"""Where newcomers enter, how the level of a pool is held, and how both are explained."""
