/**
 * A forward proxy for CONNECT, as a program. It leads every host to this machine, so that a server may have a name that only the proxy
 * knows. `PROXY_PORT` says where it listens, `PROXY_USER` whom it lets through (`user:password`; default: everybody).
 *
 * It writes a line for each request: `CONNECT host:port status`; the first line is `listening PORT`.
 */
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { env, stdout } from "node:process";

const expected = env["PROXY_USER"] && `Basic ${Buffer.from(env["PROXY_USER"]).toString("base64")}`;
const server = createServer((_request, response) => void response.writeHead(405).end());

server.on("connect", (request, client: Socket) => {
  client.on("error", () => {});
  if (request.headers["proxy-authorization"] !== (expected || undefined)) {
    stdout.write(`CONNECT ${request.url} 407\n`);
    return client.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="proxy"\r\n\r\n');
  }
  const onward = connect(Number(new URL(`http://${request.url}`).port), "127.0.0.1", () => {
    stdout.write(`CONNECT ${request.url} 200\n`);
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    client.pipe(onward).pipe(client);
  });
  onward.on("error", () => client.destroy());
  onward.on("close", () => client.destroy());
  client.on("close", () => onward.destroy());
});

server.listen(Number(env["PROXY_PORT"] ?? 0), "127.0.0.1", () => {
  stdout.write(`listening ${(server.address() as AddressInfo).port}\n`);
});
