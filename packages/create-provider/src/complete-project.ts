import { CreateError } from "./create-error.ts";
import type { Arguments } from "./arguments.ts";
import { kinds, type Kind } from "./kind.ts";
import { descriptionProblem, kindProblem, nameProblem, packageProblem } from "./names.ts";
import { defaultsFor, type Project } from "./project.ts";

/** Asks a person. */
export interface Asker {
  /** @returns what was typed, or the default where that is nothing */
  ask(question: string, standard: string): Promise<string>;
  /** Tells what is wrong with an answer, before it is asked again. */
  refuse(problem: string): void;
}

/**
 * What is to be made: as the command line says, else as a person says, else the defaults.
 *
 * @param asker - absent: nobody is asked
 * @throws CreateError for a wrong value of the command line, and for a name that nobody says
 */
export async function completeProject(given: Partial<Arguments>, asker: Asker | undefined): Promise<Project> {
  const choose = async (choice: Choice): Promise<string> => {
    const { flag, value, question, standard, problemOf } = choice;
    if (value !== undefined) return checked(flag, value, problemOf);
    if (!asker) {
      if (standard === "") throw new CreateError(`no name, expected one, as in npm create @virtual-kubelet/provider my-cloud`);
      return standard;
    }
    for (;;) {
      const answer = (await asker.ask(question, standard)).trim();
      const problem = problemOf(answer);
      if (problem === undefined) return answer;
      asker.refuse(`${JSON.stringify(answer)}: ${problem}`);
    }
  };
  const name = await choose({ flag: "name", value: given.name, question: "Name of the provider", standard: "", problemOf: nameProblem });
  const { kind, description, packageName } = defaultsFor(name);
  const chosen = {
    name,
    kind: (await choose({
      flag: "kind",
      value: given.kind,
      question: `Kind: ${kinds.join(" or ")}`,
      standard: kind,
      problemOf: kindProblem,
    })) as Kind,
    description: await choose({
      flag: "description",
      value: given.description,
      question: "Description",
      standard: description,
      problemOf: descriptionProblem,
    }),
    packageName: await choose({
      flag: "package",
      value: given.packageName,
      question: "Name of its npm package",
      standard: packageName,
      problemOf: packageProblem,
    }),
  };
  const { directory = defaultsFor(name, chosen.packageName).directory, tarballs } = given;
  return { ...chosen, directory, tarballs };
}

/** One thing to know. */
interface Choice {
  readonly flag: string;
  /** What the command line says. */
  readonly value: string | undefined;
  readonly question: string;
  /** Empty: there is none. */
  readonly standard: string;
  problemOf(value: string): string | undefined;
}

function checked(flag: string, value: string, problemOf: Choice["problemOf"]): string {
  const problem = problemOf(value);
  if (problem === undefined) return value;
  throw new CreateError(`--${flag}: ${JSON.stringify(value)}: ${problem}`);
}
