// What whoever runs the command can mend: told in a line, without a trace.
export class Mistake extends Error {}
