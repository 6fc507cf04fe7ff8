import { describe, expect, test } from "vitest";
import { environmentProxy } from "./environment-proxy.ts";

const server = "https://api.example.com:6443";

function hrefOf(url: string, env: Record<string, string>): string | undefined {
  return environmentProxy(url, env)?.href;
}

/** Whether the server is reached directly although there is a proxy. */
function isExcepted(url: string, noProxy: string): boolean {
  return hrefOf(url, { HTTPS_PROXY: "http://proxy:3128", HTTP_PROXY: "http://proxy:3128", NO_PROXY: noProxy }) === undefined;
}

describe("the environment's proxy", () => {
  test("is HTTPS_PROXY for a server with TLS, HTTP_PROXY for one without, and none without them", () => {
    const env = { HTTPS_PROXY: "http://one:1", HTTP_PROXY: "http://two:2" };

    expect(hrefOf(server, env)).toBe("http://one:1/");
    expect(hrefOf("http://api.example.com", env)).toBe("http://two:2/");
    expect(hrefOf(server, { HTTP_PROXY: "http://two:2", HTTPS_PROXY: "" })).toBeUndefined();
    expect(hrefOf(server, {})).toBeUndefined();
  });

  test("may be named in lower case, and counts less then", () => {
    expect(hrefOf(server, { https_proxy: "http://lower" })).toBe("http://lower/");
    expect(hrefOf(server, { https_proxy: "http://lower", HTTPS_PROXY: "http://upper" })).toBe("http://upper/");
    expect(hrefOf(server, { https_proxy: "http://lower", no_proxy: "example.com" })).toBeUndefined();
  });

  test("may be a host and a port, of any protocol", () => {
    expect(hrefOf(server, { HTTPS_PROXY: "proxy:3128" })).toBe("http://proxy:3128/");
    expect(hrefOf(server, { HTTPS_PROXY: "user:password@proxy:3128" })).toBe("http://user:password@proxy:3128/");
    expect(hrefOf(server, { HTTPS_PROXY: "socks5://proxy:1080" })).toBe("socks5://proxy:1080");
  });

  test("that is none is told, by the variable it comes from", () => {
    expect(() => environmentProxy(server, { https_proxy: "ftp://user:secret@proxy" })).toThrow(
      'https_proxy is "ftp://…@proxy", expected a URL such as http://proxy:3128',
    );
  });

  test("is not taken from a header of a web server's request", () => {
    expect(hrefOf("http://api", { HTTP_PROXY: "http://two:2", REQUEST_METHOD: "GET" })).toBeUndefined();
    expect(hrefOf("https://api", { HTTPS_PROXY: "http://two:2", REQUEST_METHOD: "GET" })).toBe("http://two:2/");
  });

  test.each([
    "https://localhost:6443",
    "https://LOCALHOST",
    "https://127.0.0.1",
    "https://127.8.9.1:1",
    "https://[::1]:6443",
    "http://localhost.",
    "https://[::ffff:127.0.0.1]:6443",
  ])("does not lead to this machine: %s", (url) => {
    expect(isExcepted(url, "")).toBe(true);
  });
});

describe("NO_PROXY", () => {
  test.each<[string, string, boolean]>([
    ["https://api.example.com", "*", true],
    ["https://api.example.com", "example.com", true],
    ["https://api.example.com", "API.Example.com", true],
    ["https://api.example.com.", "api.example.com", true],
    ["https://example.com", "example.com", true],
    ["https://badexample.com", "example.com", false],
    ["https://api.example.com", ".example.com", true],
    ["https://example.com", ".example.com", false],
    ["https://api.example.com", "*.example.com", true],
    ["https://example.com", "*.example.com", false],
    ["https://api.example.com", " other.com , example.com ", true],
    ["https://api.example.com", "other.com,,", false],
    ["https://api.example.com", "api", false],
    ["https://api.example.com:6443", "example.com:6443", true],
    ["https://api.example.com:6443", "example.com:443", false],
    ["https://api.example.com", "example.com:443", true],
    ["http://api.example.com", "example.com:80", true],
    ["https://10.1.2.3", "10.1.2.3", true],
    ["https://10.1.2.3:6443", "10.1.2.3:6443", true],
    ["https://10.1.2.3:6443", "10.1.2.3:443", false],
    ["https://10.1.2.3", "10.1.2.4", false],
    ["https://10.1.2.3", "10.0.0.0/8", true],
    ["https://11.1.2.3", "10.0.0.0/8", false],
    ["https://10.1.2.3", "10.0.0.0/99", false],
    ["https://ten.example.com", "10.0.0.0/8", false],
    ["https://[fd00::1]", "fd00::1", true],
    ["https://[fd00::1]:6443", "[fd00::1]:6443", true],
    ["https://[fd00::1]", "[fd00::2]", false],
    ["https://[fd00::1]", "fd00::/8", true],
    ["https://[fe00::1]", "fd00::/8", false],
    ["https://10.1.2.3", "fd00::/8", false],
    ["https://10.1.2.3", "::/0", false],
    ["https://[fd00::1]", "0.0.0.0/0", false],
    ["https://[::ffff:10.1.2.3]", "10.1.2.3", true],
    ["https://[::ffff:10.1.2.3]:6443", "10.1.2.3:6443", true],
    ["https://[::ffff:10.1.2.3]", "10.1.2.4", false],
    ["https://[::ffff:10.1.2.3]", "10.0.0.0/8", true],
    ["https://[::ffff:11.1.2.3]", "10.0.0.0/8", false],
    ["https://10.1.2.3", "::ffff:10.1.2.3", true],
    ["https://10.1.2.3", "::ffff:10.0.0.0/104", true],
    ["https://11.1.2.3", "::ffff:10.0.0.0/104", false],
    ["https://api.bücher.example", "bücher.example", true],
    ["https://api.bücher.example", "BÜCHER.example:443", true],
    ["https://api.bücher.example", "xn--bcher-kva.example", true],
    ["https://api.bücher.example", ".bücher.example", true],
    ["https://api.bücher.example", "*.bücher.example", true],
    ["https://api.bücher.example", "bucher.example", false],
    ["https://api.example.com", "not a name", false],
  ])("leads to %s without a proxy where it is %j: %s", (url, noProxy, expected) => {
    expect(isExcepted(url, noProxy)).toBe(expected);
  });
});
