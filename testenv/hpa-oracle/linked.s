// Empty: its presence lets Go accept the bodiless functions of linked.go.
