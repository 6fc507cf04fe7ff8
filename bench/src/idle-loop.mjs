/** A program that does nothing until SIGTERM. Its pauses are those of the machine. */
const timer = setInterval(() => {}, 60_000);
process.once("SIGTERM", () => clearInterval(timer));
