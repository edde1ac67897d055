"""client.py - Python's sqlite3."""
import driver
import steps

steps.main(driver.Driver)
