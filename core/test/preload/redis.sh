#!/bin/sh
# A redis-server on a Unix socket in this folder, under load, then filled with data. Prints the digest of the data, but
# not the benchmark's output, which contains times.
set -u

redis-server --port 0 --unixsocket "$PWD/socket" --dir "$PWD" --save '' --appendonly no --enable-debug-command yes \
  >server.log 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null' EXIT
ask() { redis-cli -s "$PWD/socket" "$@"; }
for _ in $(seq 100); do
  [ "$(ask ping 2>/dev/null)" = PONG ] && break
  sleep 0.1
done
redis-benchmark -s "$PWD/socket" -q -n 60000 -c 20 -P 8 -d 200 -r 20000 \
  -t set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset >benchmark.log 2>&1 || { cat benchmark.log server.log; exit 1; }
ask flushall
ask eval 'for i = 1, 50000 do
  redis.call("set", "string " .. i, string.rep("x", i % 3000))
  redis.call("hset", "hash " .. i % 100, i, i * i)
  redis.call("rpush", "list " .. i % 10, i)
  if i % 3 == 0 then redis.call("del", "string " .. i / 3) end
end return redis.call("dbsize")' 0
ask debug digest
ask debug reload
ask debug digest
ask shutdown nosave
wait "$server"
echo "ended with $?"
