import { BlockList, isIP } from "node:net";
import { domainToASCII } from "node:url";
import { parseProxyUrl } from "./proxy-url.ts";

/** The environment's variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the proxy that the environment names for a server: `HTTPS_PROXY` or, for a server without TLS, `HTTP_PROXY`, unless the server is
 * on this machine or `NO_PROXY` lists it: addresses, networks (`10.0.0.0/8`), names with all below them (`example.com`), what is
 * below a name (`.example.com`), each optionally with a port, or `*`. Lower-case names of the variables work as well.
 *
 * Source: golang.org/x/net `http/httpproxy`, which kubectl and kubelet go by.
 *
 * @throws InvalidInputError if the variable is not the URL of a proxy
 */
export function environmentProxy(server: string, env: Environment): URL | undefined {
  const { protocol, hostname, port } = new URL(server);
  const name = protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const [variable, value] = variableOf(env, name);
  // A web server's CGI sets HTTP_PROXY from a header of the request.
  if (!value || (name === "HTTP_PROXY" && env["REQUEST_METHOD"])) return undefined;
  const target: Target = {
    host: hostname.replace(/^\[|\]$/g, "").replace(/\.$/, ""),
    port: port || (protocol === "https:" ? "443" : "80"),
  };
  if (isLocal(target) || isExcepted(target, variableOf(env, "NO_PROXY")[1] ?? "")) return undefined;
  return parseProxyUrl(/^[a-z0-9]+:\/\//i.test(value) ? value : `http://${value}`, `${variable} is`);
}

interface Target {
  readonly host: string;
  readonly port: string;
}

function variableOf(env: Environment, name: string): readonly [string, string | undefined] {
  return env[name] ? [name, env[name]] : [name.toLowerCase(), env[name.toLowerCase()]];
}

function isLocal({ host }: Target): boolean {
  return host === "localhost" || isIn(host, "127.0.0.0", 8) || isIn(host, "::1", 128);
}

function isExcepted(target: Target, list: string): boolean {
  return list
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== "" && isExceptedBy(target, entry));
}

function isExceptedBy({ host, port }: Target, entry: string): boolean {
  if (entry === "*") return true;
  const [, network, bits] = /^(.+)\/(\d+)$/.exec(entry) ?? [];
  if (network !== undefined && isIP(network) !== 0) return isIn(host, network, Number(bits));
  // An IPv6 address without brackets has no port.
  const [, bracketed, plain, only] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  const name = bracketed ?? plain ?? entry;
  if (only !== undefined && only !== port) return false;
  if (isIP(name) !== 0) return isIn(host, name, isIP(name) === 4 ? 32 : 128);
  const suffix = domainToASCII(name.replace(/^\*(?=\.)/, ""));
  return suffix.startsWith(".") ? host.endsWith(suffix) : suffix !== "" && (host === suffix || host.endsWith(`.${suffix}`));
}

/** Maps an IPv4 address in IPv6 form, such as ::ffff:10.0.0.1, to the IPv4 address, as Go does. */
function isIn(host: string, network: string, bits: number): boolean {
  const [hostVersion, networkVersion] = [isIP(host), isIP(network)];
  if (hostVersion === 0 || bits > (networkVersion === 4 ? 32 : 128)) return false;
  if (hostVersion === 4 && networkVersion === 6 && bits < 96) return false;
  const list = new BlockList();
  list.addSubnet(network, bits, networkVersion === 4 ? "ipv4" : "ipv6");
  return list.check(host, hostVersion === 4 ? "ipv4" : "ipv6");
}
