import type { MetricFamily } from "@virtual-kubelet/core";
import { metricsContentType, renderMetrics } from "@virtual-kubelet/metrics";
import { text } from "../server/answer.ts";
import { parseQuery } from "../server/query.ts";
import { Refusal } from "../server/refusal.ts";
import type { Handler } from "./route.ts";
import type { ServedNode } from "./served-node.ts";

/** One check of `/healthz`. */
export interface HealthCheck {
  readonly name: string;
  /** Describes the problem; `undefined` if healthy. */
  readonly problem: () => string | undefined;
}

/**
 * Checks of a kubelet: the server answers (proved by the response itself), the log accepts lines, and the nodes work.
 *
 * @param logProblem - default: the log is not checked
 */
export function kubeletChecks(nodes: readonly ServedNode[], logProblem?: () => string | undefined): readonly HealthCheck[] {
  return [
    { name: "ping", problem: () => undefined },
    ...(logProblem ? [{ name: "log", problem: logProblem }] : []),
    { name: "syncloop", problem: () => nodeProblems(nodes) },
  ];
}

function nodeProblems(nodes: readonly ServedNode[]): string | undefined {
  const problems = nodes.flatMap(({ access, problem }) => {
    const found = problem?.();
    return found === undefined ? [] : [nodes.length === 1 ? found : `node ${access.nodeName}: ${found}`];
  });
  return problems.length > 0 ? problems.join("; ") : undefined;
}

/** Runs the checks and counts their results. */
export class HealthChecks {
  readonly #checks: readonly HealthCheck[];
  readonly #counts = new Map<string, { success: number; error: number }>();

  constructor(checks: readonly HealthCheck[]) {
    this.#checks = checks;
  }

  /**
   * `/healthz`: all checks except those in `?exclude=`. Worded like a kubelet; the problem itself is shown on `/healthz/NAME` only.
   *
   * Source: kubernetes v1.36.3 apiserver/pkg/server/healthz.
   */
  readonly all: Handler = ({ query: queryText }) => {
    const query = parseQuery(queryText);
    const excluded = new Set(query.all("exclude"));
    const lines: string[] = [];
    let failed = false;
    for (const check of this.#checks) {
      if (excluded.delete(check.name)) {
        lines.push(`[+]${check.name} excluded: ok\n`);
        continue;
      }
      const isWell = this.#run(check) === undefined;
      failed ||= !isWell;
      lines.push(isWell ? `[+]${check.name} ok\n` : `[-]${check.name} failed: reason withheld\n`);
    }
    if (excluded.size > 0) lines.push(`warn: some health checks cannot be excluded: no matches for ${quoted([...excluded])}\n`);
    if (failed) return text(`${lines.join("")}healthz check failed\n`, 500);
    return text(query.first("verbose") === undefined ? "ok" : `${lines.join("")}healthz check passed\n`);
  };

  /** `/healthz/NAME`. */
  readonly one: Handler = ({ params }) => {
    const check = this.#checks.find(({ name }) => name === params["check"]);
    if (!check) throw new Refusal(404, "404: Page Not Found");
    const problem = this.#run(check);
    return problem === undefined ? text("ok") : text(`internal server error: ${problem}\n`, 500);
  };

  /** `/metrics/slis`: result of each check, and how often it had which result. */
  readonly slis: Handler = () => {
    const results = this.#checks.map((check) => ({ name: check.name, value: this.#run(check) === undefined ? 1 : 0 }));
    const families: readonly MetricFamily[] = [
      {
        name: "kubernetes_healthcheck",
        help: "[STABLE] This metric records the result of a single healthcheck.",
        type: "gauge",
        samples: results.map(({ name, value }) => ({ labels: { name, type: "healthz" }, value })),
      },
      {
        name: "kubernetes_healthchecks_total",
        help: "[STABLE] This metric records the results of all healthcheck.",
        type: "counter",
        samples: [...this.#counts].flatMap(([name, counts]) =>
          (["success", "error"] as const).map((status) => ({ labels: { name, status, type: "healthz" }, value: counts[status] })),
        ),
      },
    ];
    return text(renderMetrics(families), 200, { "content-type": metricsContentType });
  };

  #run({ name, problem }: HealthCheck): string | undefined {
    const found = problem();
    const counts = this.#counts.get(name) ?? { success: 0, error: 0 };
    counts[found === undefined ? "success" : "error"]++;
    this.#counts.set(name, counts);
    return found;
  }
}

function quoted(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(",");
}
