/**
 * Creates the project of a new provider from a template. The program is `npm create @virtual-kubelet/provider`; this is its library.
 *
 * @packageDocumentation
 */
export { CreateError } from "./create-error.ts";
export { nameProblem, packageProblem, descriptionProblem, kindProblem } from "./names.ts";
export { defaultsFor, type Project } from "./project.ts";
export { projectFiles } from "./project-files.ts";
export { kinds, type Kind } from "./kind.ts";
export { fillTemplate, readTemplate, type Template, type TemplateSource } from "./template.ts";
