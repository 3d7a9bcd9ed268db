module chronoxide-spec

go 1.21
