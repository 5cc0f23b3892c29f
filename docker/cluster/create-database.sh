#!/bin/sh
# Run once by Patroni on the first primary, with the URL of a superuser. Creates the role that owns the service's
# tables, which may create the service's own role (`cli migrate` does), and the database.
set -eu
exec psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 "$1" <<'SQL'
\getenv password OWNER_PASSWORD
CREATE ROLE proxy_rental LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE proxy_rental OWNER proxy_rental;
SQL
