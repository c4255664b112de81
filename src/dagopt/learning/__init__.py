"""From a question to a result: read, pose, solve, certify, record.

``learning.py`` has ``learn``; ``posing.py`` makes a problem of a table; ``recording.py`` makes a result of an answer.
The others are its special cases: many columns, files of scores, how many lags, and rows that join a result.
"""
