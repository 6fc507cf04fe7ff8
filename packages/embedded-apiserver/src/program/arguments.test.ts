import { expect, test } from "vitest";
import { parseArguments, usage } from "./arguments.ts";

test("only the kubeconfig's path is required", () => {
  expect(parseArguments(["--kubeconfig", "k"])).toEqual({
    action: "serve",
    settings: {
      kubeconfig: "k",
      server: {
        host: "127.0.0.1",
        port: 0,
        certificateHosts: [],
        contextName: "embedded",
        authorization: "RBAC",
        controllers: true,
        serviceAccounts: true,
      },
    },
  });
});

test("every flag reaches the server", () => {
  const words = "--kubeconfig=k --host 0.0.0.0 --port=6443 --certificate-host api --certificate-host 10.0.0.1";
  const more = "--context test --authorization AlwaysAllow --no-controllers";
  expect(parseArguments(`${words} ${more}`.split(" "))).toMatchObject({
    settings: {
      server: {
        host: "0.0.0.0",
        port: 6443,
        certificateHosts: ["api", "10.0.0.1"],
        contextName: "test",
        authorization: "AlwaysAllow",
        controllers: false,
        serviceAccounts: false,
      },
    },
  });
});

test("tokens and names of the certificate also come from the environment, and flags take precedence", () => {
  const environment = { EMBEDDED_APISERVER_TOKEN: "from-env", EMBEDDED_APISERVER_CERTIFICATE_HOSTS: "api, 10.0.0.2,," };
  const serverOf = (...words: string[]): unknown => {
    const parsed = parseArguments(["--kubeconfig=k", ...words], environment);
    return parsed.action === "serve" ? parsed.settings.server : undefined;
  };

  expect(serverOf("--certificate-host=b")).toMatchObject({ token: "from-env", certificateHosts: ["b", "api", "10.0.0.2"] });
  expect(serverOf("--token=from-flag", "--advertised-url=https://api:6443/")).toMatchObject({
    token: "from-flag",
    advertisedUrl: "https://api:6443",
  });
  expect(parseArguments(["--kubeconfig=k"], { EMBEDDED_APISERVER_TOKEN: "" })).not.toHaveProperty("settings.server.token");
});

test("ready takes the port", () => {
  expect(parseArguments(["ready", "--port=6443"])).toEqual({ action: "ready", port: 6443 });
});

test("assets takes the directory of envtest's programs", () => {
  expect(parseArguments(["assets", "bin"])).toEqual({ action: "assets", directory: "bin" });
});

test("help and version take precedence over other flags", () => {
  expect(parseArguments(["-h"])).toEqual({ action: "help" });
  expect(parseArguments(["--version", "--port", "x"])).toEqual({ action: "version" });
  expect(usage).toContain("--no-controllers");
});

test.each([
  ["", /^--kubeconfig: no path, expected a file to write/],
  ["--kubeconfig=", /^--kubeconfig: no path/],
  ["--kubeconfig k --port 70000", /^--port "70000": expected a port from 1 to 65535/],
  ["--kubeconfig k --port http", /^--port "http"/],
  ["--kubeconfig k --authorization ABAC", /^--authorization "ABAC": expected RBAC or AlwaysAllow$/],
  ["--kubeconfig k --prot 1", /^Unknown option '--prot'; see --help$/],
  ["kubeconfig", /^unknown command "kubeconfig": expected assets or ready; see --help$/],
  ["ready", /^ready: expected the server's port/],
  ["--kubeconfig k --token a:b", /^--token: expected letters, digits/],
  [
    "--kubeconfig k --advertised-url https://me:secret@api:6443",
    /^--advertised-url: expected a URL such as https:\/\/api:6443, without credentials$/,
  ],
  ["--kubeconfig k --advertised-url api:6443", /^--advertised-url "api:6443": expected a URL/],
  ["assets", /^assets: expected one directory/],
  ["assets a b", /^assets: expected one directory/],
  ["--kubeconfig", /'--kubeconfig <value>' argument missing; see --help$/],
])("%s is refused by name", (line, message) => {
  expect(() => parseArguments(line.split(" ").filter((word) => word !== ""))).toThrow(message);
});
