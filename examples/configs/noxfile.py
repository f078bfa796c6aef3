import nox


@nox.session
def tests(session):
    session.install("pytest")
    session.run("pycgate", "gate", "--", "python", "-m", "pytest", "-q", external=True)
