#!/bin/sh
# Replaces a database server. Like PostgreSQL it owns $PGDATA, creates a database there only if the folder is empty, acknowledges an
# insert after the row is written, ends cleanly on SIGTERM, and does not start with incomplete data.
set -eu
export PGDATA=${PGDATA:-/var/lib/data}
control=$PGDATA/control # "rows STATE": number of acknowledged rows, and whether the server was shut down
rows=$PGDATA/rows       # lines of "NUMBER VALUE"

lock() { until mkdir "$PGDATA/lock" 2>/dev/null; do sleep 0.05; done; }
unlock() { rmdir "$PGDATA/lock"; }
write_control() { echo "$1 $2" >"$control.new" && mv "$control.new" "$control"; }

insert() {
  lock
  read -r count _ <"$control"
  count=$((count + 1))
  echo "$count $QUERY_STRING" >>"$rows"
  write_control "$count" running
  unlock
  printf 'Content-Type: text/plain\r\n\r\nINSERT %s\n' "$count"
}

select_all() {
  printf 'Content-Type: text/plain\r\n\r\n'
  cat "$PGDATA/PG_VERSION" "$rows"
}

serve() {
  if [ -z "$(ls -A "$PGDATA")" ]; then
    cat /proc/sys/kernel/random/uuid >"$PGDATA/PG_VERSION"
    : >"$rows"
    write_control 0 stopped
    echo "LOG: database was created"
  fi
  # The holder of the lock has ended with the previous server.
  rm -rf "$PGDATA/lock"
  [ -s "$PGDATA/PG_VERSION" ] || { echo "FATAL: $PGDATA is no database"; exit 1; }
  read -r count state <"$control"
  # A row that was written but not acknowledged may or may not exist.
  found=$(awk '$1 != NR { exit } { whole = NR } END { print whole + 0 }' "$rows")
  [ "$found" -ge "$count" ] || { echo "FATAL: $count rows were acknowledged, and $found are there"; exit 1; }
  case $state in
    stopped) echo "LOG: database system was shut down" ;;
    *) echo "LOG: database system was interrupted" ;;
  esac
  write_control "$found" running
  mkdir -p /tmp/www/cgi-bin
  for name in insert select_all; do ln -sf /bin/database "/tmp/www/cgi-bin/$name"; done
  httpd -f -p 5432 -h /tmp/www &
  trap shut_down TERM
  wait $!
}

shut_down() {
  kill $!
  lock
  read -r count _ <"$control"
  write_control "$count" stopped
  echo "LOG: shut down"
  exit 0
}

# As pg_isready.
ready() { nc -w 5 127.0.0.1 5432 </dev/null; }

case ${0##*/} in
  insert | select_all) ${0##*/} ;;
  *) "${1:-serve}" ;;
esac
