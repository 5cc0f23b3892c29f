#!/bin/sh
# Backs up at its start and each night at 02:30 UTC, on Sundays in full: operations/backup.md. After a failed backup the
# script ends, and the restarted container tries again.
set -eu
pgbackrest() {
  command pgbackrest --stanza=proxy-rental "$@"
}
pgbackrest stanza-create
pgbackrest check
pgbackrest info --output=json | grep -q '"label"' || pgbackrest --type=full backup
while :; do
  now=$(date -u +%s)
  sleep $(((86400 + 9000 - now % 86400 - 1) % 86400 + 1))
  if [ "$(date -u +%u)" = 7 ]; then pgbackrest --type=full backup; else pgbackrest --type=diff backup; fi
done
