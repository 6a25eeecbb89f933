// Times the kernels in V8: a line of JSON each, its name and the nanoseconds of one run in each turn.
const [kernels, turns, runs] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const { make, run } = require(kernels);

for (let group = 0; ; group += 1) {
  const told = make(group);
  if (told === "") break;
  const names = told.split("\n");
  const taken = names.map(() => []);
  names.forEach((_, kernel) => run(kernel, runs)); // compiled by the optimising tier before it is timed
  for (let turn = 0; turn < turns; turn += 1) {
    for (let index = 0; index < names.length; index += 1) {
      const kernel = (index + turn) % names.length;
      const start = process.hrtime.bigint();
      run(kernel, runs);
      taken[kernel].push(Number(process.hrtime.bigint() - start) / runs);
    }
  }
  names.forEach((name, kernel) => console.log(JSON.stringify({ name, ns: taken[kernel] })));
}
