# EVOLVE-BLOCK-START
reply = 0


def count(text):
    return len(text.split())


# EVOLVE-BLOCK-END
