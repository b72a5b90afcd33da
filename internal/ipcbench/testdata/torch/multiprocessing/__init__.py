from multiprocessing import *  # noqa: F401,F403
