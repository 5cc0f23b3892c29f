#!/bin/sh
# Creates missing files in docker/secrets, which compose.yaml and compose.production.yaml mount. Passwords are random;
# for a database volume that is older than the files, set its passwords, at first `proxy_rental`, in POSTGRES_PASSWORD
# and SERVICE_DATABASE_PASSWORD.
set -eu
cd "$(dirname "$0")"
# The directory is closed to others. Users inside the containers read the files.
mkdir -p -m 700 secrets
mkdir -p -m 755 secrets/provider

# create NAME CONTENT
create() {
  [ -e "secrets/$1" ] && return
  printf '%s' "$2" > "secrets/$1"
  chmod 644 "secrets/$1"
  echo "created docker/secrets/$1"
}
random() {
  od -An -N24 -tx1 /dev/urandom | tr -d ' \n'
}
# The URLs and the password must agree, so they are created together.
if [ ! -e secrets/postgres_password ]; then
  owner=${POSTGRES_PASSWORD:-$(random)}
  service=${SERVICE_DATABASE_PASSWORD:-$(random)}
  create postgres_password "$owner"
  create database_owner_url "postgres://proxy_rental:$owner@database:5432/proxy_rental"
  create database_url "postgres://proxy_rental_service:$service@database:5432/proxy_rental"
fi
create px6_api_key ''
create provider/px6_api_key ''
create grafana_password "$(random)"
# For Alertmanager: operations/alertmanager.yml.
create smtp_password ''
# A backup has the hashes of tokens and the passwords of proxies. Keep a copy of the passphrase elsewhere.
create pgbackrest.conf "[global]
repo1-path=/backups
repo1-cipher-type=aes-256-cbc
repo1-cipher-pass=$(random)
repo1-retention-full=2
repo1-bundle=y
start-fast=y
lock-path=/tmp/pgbackrest
log-level-console=warn
log-level-file=off

[proxy-rental]
pg1-path=/var/lib/postgresql/data
pg1-user=proxy_rental
"
