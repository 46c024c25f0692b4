"""What each attack does to a broken server and to ours, one file each: seeded, on generated people, no data
of anybody.
"""
