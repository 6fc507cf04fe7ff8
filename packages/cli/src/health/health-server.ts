import { startSmallServer, type SmallAnswer, type SmallServer } from "../http/small-server.ts";

/** A condition for the program to be ready. */
export interface HealthCheck {
  readonly name: string;
  /** Describes the problem; `undefined` if there is none. */
  readonly problem: string | undefined;
}

/**
 * Serves `/healthz` and `/livez`, which succeed as long as the process answers, and `/readyz`, which fails with 500 while a check fails.
 * `?verbose` lists the checks in the format of Kubernetes's own components, and `?exclude=NAME` skips one. Plain HTTP, GET and HEAD only.
 *
 * @param readiness - called for each request
 * @throws the system's error if the address cannot be bound
 */
export async function startHealthServer(
  address: { readonly host: string; readonly port: number },
  readiness: () => readonly HealthCheck[],
): Promise<SmallServer> {
  return await startSmallServer(address, ({ path, query }) => {
    const options = { verbose: query.first("verbose") !== undefined, excluded: query.all("exclude") };
    switch (path) {
      case "/healthz":
      case "/livez":
        return answer(path, [{ name: "ping", problem: undefined }], options);
      case "/readyz":
        return answer(path, readiness(), options);
      default:
        return { status: 404, body: "not found\n" };
    }
  });
}

function answer(
  path: string,
  checks: readonly HealthCheck[],
  { verbose, excluded }: { readonly verbose: boolean; readonly excluded: readonly string[] },
): SmallAnswer {
  const failed = checks.some(({ name, problem }) => problem !== undefined && !excluded.includes(name));
  const lines = checks.map(({ name, problem }) => {
    if (excluded.includes(name)) return `[+]${name} excluded: ok\n`;
    return problem === undefined ? `[+]${name} ok\n` : `[-]${name} failed: ${problem}\n`;
  });
  const result = `${path.slice(1)} check ${failed ? "failed" : "passed"}\n`;
  return { status: failed ? 500 : 200, body: failed || verbose ? lines.join("") + result : "ok" };
}
