"""models.py - of the application whose schema is django.sql."""

from django.contrib.auth.models import User
from django.db import models


class Author(models.Model):
    id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=200)
    mentor = models.ForeignKey("self", models.SET_NULL, null=True)
    user = models.OneToOneField(User, models.SET_NULL, null=True)

class Tag(models.Model):
    slug = models.SlugField(primary_key=True)

class Item(models.Model):
    id = models.AutoField(primary_key=True)
    title = models.CharField(max_length=200)
    stock = models.IntegerField(default=0)
    status = models.PositiveSmallIntegerField(default=0)
    tags = models.ManyToManyField(Tag)

class Book(Item):
    isbn = models.CharField(max_length=13, unique=True)
    authors = models.ManyToManyField(Author, through="Contribution")

class Contribution(models.Model):
    id = models.AutoField(primary_key=True)
    author = models.ForeignKey(Author, models.CASCADE)
    book = models.ForeignKey(Book, models.CASCADE)
    role = models.CharField(max_length=20)

class Loan(models.Model):
    id = models.AutoField(primary_key=True)
    borrower = models.ForeignKey(User, models.CASCADE)
    item = models.ForeignKey(Item, models.CASCADE)
    since = models.DateField(auto_now_add=True)
    returned = models.BooleanField(default=False)

class Profile(models.Model):
    user = models.OneToOneField(User, models.CASCADE, primary_key=True)
    loans = models.PositiveIntegerField(default=0)
    notes = models.JSONField(default=dict)
