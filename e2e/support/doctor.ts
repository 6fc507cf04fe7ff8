import { Program } from "./program.ts";

/** A finding in the output of `doctor -o json`. */
export interface DoctorFinding {
  readonly check: string;
  readonly status: "pass" | "warn" | "fail" | "skip";
  readonly message: string;
  readonly repair: readonly string[];
}

/** What one run of doctor said. */
export interface Diagnosis {
  readonly code: number;
  readonly findings: readonly DoctorFinding[];
  /** The whole output. */
  readonly text: string;
}

/** Findings that are neither passed nor skipped, as `status check`, each once. */
export function complaintsOf({ findings }: Diagnosis): string[] {
  const complaints = findings.filter(({ status }) => status === "warn" || status === "fail");
  return [...new Set(complaints.map(({ status, check }) => `${status} ${check}`))];
}

/** The findings of a check. */
export function findingsOf({ findings }: Diagnosis, check: string): DoctorFinding[] {
  return findings.filter((finding) => finding.check === check);
}

/** Reads the output of `doctor -o json`. */
export function parseDiagnosis(code: number, stdout: string, stderr: string): Diagnosis {
  return { code, text: stdout + stderr, findings: (JSON.parse(stdout) as { findings: DoctorFinding[] }).findings };
}

/** Runs `doctor` as a process. @param words - flags */
export async function runDoctor(words: readonly string[], cwd: string): Promise<Diagnosis> {
  await using doctor = new Program(["doctor", "-o", "json", ...words], { cwd });
  const code = await doctor.exit;
  return parseDiagnosis(Number(code), doctor.stdout, doctor.stderr);
}
