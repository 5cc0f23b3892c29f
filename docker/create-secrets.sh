#!/bin/sh
# Creates the files in docker/secrets that are missing, which compose.yaml mounts. Passwords of the database are random;
# for a volume that was filled before there were files, give its own in POSTGRES_PASSWORD and SERVICE_DATABASE_PASSWORD.
set -eu
cd "$(dirname "$0")"
# The directory keeps others out. The files themselves are read by the users inside of the containers.
mkdir -p -m 700 secrets

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
# The URLs and the password are made together: they have to agree.
if [ ! -e secrets/postgres_password ]; then
  owner=${POSTGRES_PASSWORD:-$(random)}
  service=${SERVICE_DATABASE_PASSWORD:-$(random)}
  create postgres_password "$owner"
  create database_owner_url "postgres://proxy_rental:$owner@database:5432/proxy_rental"
  create database_url "postgres://proxy_rental_service:$service@database:5432/proxy_rental"
fi
create px6_api_key ''
